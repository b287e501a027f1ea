"""Statements record each job: outputs, inputs, parameters and machine; they are written and read here."""
