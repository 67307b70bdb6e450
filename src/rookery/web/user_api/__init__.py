"""user_api"""
