"""The adapter on cymongoose's public API, in this process or in one of its own."""
