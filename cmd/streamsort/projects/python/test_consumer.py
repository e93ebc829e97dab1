import unittest

from consumer import handler, total


class Test(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total({"items": [{"cents": 900}, {"cents": 300}]}), 1200)

    def test_handler(self):
        handler({"queue": "orders", "messages": [{"seq": 1, "bodyBase64": "eyJpdGVtcyI6IFtdfQ=="}]}, None)
        with self.assertRaises(KeyError):
            handler({"queue": "orders", "messages": [{"seq": 1, "body": {}}]}, None)
