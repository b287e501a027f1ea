"""The verb of cost, with its arguments, help, group and function (`VERB`)."""
