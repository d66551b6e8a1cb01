"""rollview"""
