"""The command `incarnate`: thin; it parses, calls, prints."""
