import unittest

from calculator import add


class Add(unittest.TestCase):
    def test_two_and_three(self):
        self.assertEqual(add(2, 3), 5)
