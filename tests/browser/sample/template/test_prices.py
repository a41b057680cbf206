from prices import total


def test_total():
    assert total({"bulb": 2}) == 9.0
