"""What a profile says: its model, the reader, the schemas, the repository that resolves it."""
