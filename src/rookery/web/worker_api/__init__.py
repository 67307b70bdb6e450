"""worker_api"""
