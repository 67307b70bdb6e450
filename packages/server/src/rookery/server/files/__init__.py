"""One store of files for nets, books, programs, games and logs."""
