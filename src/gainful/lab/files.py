"""Finds data files in the folder that GAINFUL_DATA names and checks them to the last byte; never downloads any."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gainful.errors import InvalidInput

__all__ = ["FILES", "DataFile", "data_file", "missing_files"]

_FOLDER = "GAINFUL_DATA"


@dataclass(frozen=True)
class DataFile:
    """A file's name, the SHA-256 of its bytes, and where its content is published.

    Without a SHA-256 any file of that name will do: for one that may be there or not, and whose reader checks it.
    """

    name: str
    sha256: str | None
    published: str


def data_file(file: str | DataFile) -> Path:
    """The path of a data file in the folder GAINFUL_DATA, once its SHA-256 has been found right.

    A name stands for one of `FILES`; your own experiments bring a `DataFile` of their own.
    """
    known = _known(file)
    folder = os.environ.get(_FOLDER, "")
    if not folder:
        raise InvalidInput(_FOLDER, "the folder of the data files", "nothing", _where(known))
    path = Path(folder) / known.name
    if not path.is_file():
        raise InvalidInput(_FOLDER, f"a folder with {known.name}", f"{folder}, which has none", _where(known))
    if known.sha256 is None:
        return path
    status = path.stat()
    came = _sha256(path, status.st_mtime_ns, status.st_size)
    if came != known.sha256:
        expected = f"a file whose SHA-256 is {known.sha256[:12]}…"
        raise InvalidInput(known.name, expected, f"{came[:12]}… at {path}", f"it differs; {_where(known)}")
    return path


def missing_files(files: tuple[str | DataFile, ...]) -> list[str]:
    """Names of those that are absent, or are not what they should be."""

    def missing(file: str | DataFile) -> bool:
        try:
            data_file(file)
        except InvalidInput:
            return True
        return False

    return [_known(file).name for file in files if missing(file)]


def _known(file: str | DataFile) -> DataFile:
    if isinstance(file, DataFile):
        return file
    if file not in FILES:
        raise InvalidInput("file", f"one of {', '.join(FILES)}", file, "describe your own with a DataFile")
    return FILES[file]


def _where(file: DataFile) -> str:
    folder = os.environ.get(_FOLDER) or "a folder, and name that folder in the environment variable GAINFUL_DATA"
    return f"{file.name} is made from {file.published}; put it into {folder}"


@lru_cache(maxsize=64)
def _sha256(path: Path, modified: int, size: int) -> str:
    """Of the file as it was when last modified: the second and third argument only tell the versions apart."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _uci(title: str, number: int) -> str:
    return f'the UCI Machine Learning Repository, "{title}" (id {number})'


FILES = {
    file.name: file
    for file in (
        DataFile(
            "airline_passengers.csv",
            "5ee7aa41b775bf78641cdf3b717d710477f7cb0c31b06f0cfbe0d80b7f2d15ba",
            "Box & Jenkins, Time Series Analysis (1976), series G; also in R as AirPassengers",
        ),
        DataFile(
            "australian.csv",
            "c33afad95a9923b7869b7114d335817320e626bea5353a7ceb46a91edc00dfd0",
            _uci("Statlog (Australian Credit Approval)", 143),
        ),
        DataFile(
            "cancer_wisconsin_original.csv",
            "e18081a83c04162001acba628c4be58e7cd9c55052c535d44ac5c7cd5d73ec22",
            _uci("Breast Cancer Wisconsin (Original)", 15),
        ),
        DataFile(
            "clarity_listeners_audiograms.csv",
            "9fb46ea8dfd4248e731df2605ce77b67b41c11538fa232fbec7f62eb494d7ae7",
            "the listener metadata of the Clarity enhancement and prediction challenges",
        ),
        DataFile(
            "crabs.csv",
            "d643a70456ee5bd8a10b434416f0941615ea5a0adf208263ca25a49407c24b60",
            "Campbell & Mahon, Australian Journal of Zoology 22 (1974); also in R's MASS as crabs",
        ),
        DataFile(
            "elevators.npz",
            "aba5ceed502ecdc8aaccb0112481eb437a449c9ee3253a609c402a31dffee3f6",
            "L. Torgo's collection of regression data sets, elevators",
        ),
        DataFile(
            "elnino_buoys_14days.csv",
            "e048ad30a9b93845694439399394b7bff9209abe5c6a141bee04171c74b7f21e",
            _uci("El Nino", 122),
        ),
        DataFile(
            "images_gray.npz",
            "ab37cd32c55e6189d7ae79981965f356d7e0b426b17e0539ceceb9a1ea41c431",
            "the sample images of scikit-learn (china, flower) and scikit-image (camera, coins, moon, brick), in grey",
        ),
        DataFile(
            "keggdirected.npz",
            "161fca6e96867f9f99ededf93dba8903eb8cf236e51828e272536c90d2c88838",
            _uci("KEGG Metabolic Relation Network (Directed)", 220),
        ),
        DataFile(
            "kin40k.npz",
            "a2b064b4ab68a7f7ce8f24fb4e2da89aa0264607e34d32c6d8f74c61492193a2",
            "Schwaighofer & Tresp, Transductive and Inductive Methods for Approximate GP Regression (2003), kin40k",
        ),
        DataFile(
            "kin8nm.npz",
            "55676512d2587aa4c882607d0a939676629a34055eb2af1ce167cbf486f881a2",
            "the Delve archive of the University of Toronto, kin family, kin8nm",
        ),
        DataFile(
            "letter.csv",
            "2f12198e213cdf6c149377226fec4b5ad86632e66d23de4423acdd126a3aabc0",
            _uci("Letter Recognition", 59),
        ),
        DataFile(
            "machine_cpu.csv",
            "29c54870477f60d54fa9b8764bc5b5d72f5df6d677d695b18ba1a0e75e3b713e",
            _uci("Computer Hardware", 29),
        ),
        DataFile(
            "nhanes_audiograms.npz",
            "b4b65bfca409d5d457ede03e741a3e253e766d2245ecffef6ed50d2e5ff415a8",
            "the US National Health and Nutrition Examination Survey (NHANES), audiometry examinations",
        ),
        DataFile(
            "power_plant.npz",
            "4560cae0bdd0e990a814c418512d73d36e78af89bdb2afdc728cd5a8b2ad8fe8",
            _uci("Combined Cycle Power Plant", 294),
        ),
        DataFile(
            "protein.npz",
            "670b219b3af222dbce601cc774a38e3c9b2b41219fea0e8a3159748b4a98641f",
            _uci("Physicochemical Properties of Protein Tertiary Structure", 265),
        ),
        DataFile(
            "protein_raw.npz",
            "d4e2778af250c01528acbe2a33f2bacba64d32cb9475db1cfd892cd66a926564",
            _uci("Physicochemical Properties of Protein Tertiary Structure", 265),
        ),
        DataFile(
            "pumadyn32nm.npz",
            "177fcdffb2eb585e8bca0c7f1194d9d1766e35f854bfba88125226ede68fba07",
            "the Delve archive of the University of Toronto, pumadyn family, pumadyn-32nm",
        ),
        DataFile(
            "series13.csv",
            "b679eb4629d4bc151e7a4273428a0cf0a356588b8f8a9c8fd319784d73dd7a79",
            "Lloyd et al. 2014: the thirteen time series of automatic kernel search, in its public repository",
        ),
        DataFile(
            "taiwan_real_estate.csv",
            "807e77df802a28dbca3b3218b99b0e2fed28277b6e32c9fff505bec1a6586610",
            _uci("Real Estate Valuation", 477),
        ),
        DataFile(
            "us_precip_april1948.csv",
            "6d8d8abe8197c7490dbf5e26676d075e6ddbec9b72454cd6ef86104210662c46",
            "R's spam, USprecip: precipitation of April 1948 in the contiguous United States",
        ),
        DataFile(
            "vehicle.csv",
            "1b0dd064acd61cb3d180b360941d4eda993caa0703ad95f8d8d059c9ae091c04",
            _uci("Statlog (Vehicle Silhouettes)", 149),
        ),
        DataFile(
            "wdbc.csv",
            "7dd8e4f78b55cb5fa3cba00b0e61fa6046cbadcdaaa60ca5e48827b536723906",
            _uci("Breast Cancer Wisconsin (Diagnostic)", 17),
        ),
        DataFile(
            "wine.csv",
            "546a846b5fce7a9b41bcfc524abdb869bdf964b3a958ddcb4e8be5e30057702f",
            _uci("Wine", 109),
        ),
    )
}
