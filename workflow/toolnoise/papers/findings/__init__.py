"""What a study found, on one screen: the first lines of `toolnoise summary`, and the last of `toolnoise run`."""
