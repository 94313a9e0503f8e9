import unittest

from .. import convert


class Length(unittest.TestCase):
    def test_a_kilometre_is_a_thousand_metres(self):
        self.assertEqual(convert(5, "km", "m"), 5000)

    def test_what_is_no_length_is_refused(self):
        with self.assertRaises(ValueError):
            convert(5, "km", "C")
