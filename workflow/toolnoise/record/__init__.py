"""Statements record each job: outputs, inputs, parameters and machine; they are written, read and signed here."""
