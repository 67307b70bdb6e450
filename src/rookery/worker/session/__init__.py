"""A worker's life with its server: asks for tasks, plays them, tells what came out."""
