"""The command `incarnate`: it parses the command line, calls the library and prints the results."""
