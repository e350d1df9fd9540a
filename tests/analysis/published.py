"""Public textbook data, with the results that R published on them.

Endometrial cancer: 79 cases of Heinze and Schemper (2002, Statistics in Medicine 21), provided by
E. Asseryanis, as in R's brglm2. Urinary tract infection: 239 women of Foxman et al. (1997,
Epidemiology 8), `sex2` of R's logistf. Motor cars: Motor Trend 1974, R's `mtcars`.
"""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Floats

# neovasculization, pulsatility index, endometrium height in hundredths, histology
ENDOMETRIAL = """
0 13 164 0, 0 16 226 0, 0 8 314 0, 0 34 268 0, 0 20 128 0, 0 5 231 0, 0 17 180 0, 0 10 168 0,
0 26 156 0, 0 17 231 0, 0 8 201 0, 0 7 189 0, 0 20 315 0, 0 10 123 0, 0 18 127 0, 0 16 176 0,
0 18 200 0, 0 8 264 1, 0 29 88 1, 0 12 127 1, 0 20 137 1, 1 38 97 1, 1 22 114 1, 1 7 88 1,
1 25 91 1, 1 15 58 1, 0 7 97 1, 0 28 150 0, 0 11 133 0, 0 19 237 0, 0 10 182 0, 0 10 313 0,
0 18 131 0, 0 14 192 0, 0 21 164 0, 0 11 201 0, 0 17 188 0, 0 25 193 0, 0 16 211 0, 0 19 129 0,
0 15 172 0, 0 33 75 0, 0 24 192 0, 0 48 184 1, 0 12 111 1, 0 19 161 1, 0 2 118 1, 1 22 144 1,
1 40 118 1, 1 5 93 1, 1 0 117 1, 0 21 119 1, 0 15 106 1, 0 29 202 0, 0 15 229 0, 0 12 233 0,
0 3 290 0, 0 20 170 0, 0 23 141 0, 0 12 225 0, 0 22 154 0, 0 42 197 0, 0 15 175 0, 0 13 216 0,
0 14 257 0, 0 19 137 0, 0 12 361 0, 0 13 204 0, 0 10 217 0, 0 12 169 1, 1 49 27 1, 0 6 184 1,
0 5 130 1, 0 17 96 1, 1 11 101 1, 1 21 98 1, 0 5 35 1, 1 19 102 1, 0 33 85 1
"""
# case, age, oral contraceptive, condom, lubricated, spermicide, diaphragm; how many women
SEX2 = """
0000010 1, 0001000 2, 0001010 1, 0001100 8, 0001110 18, 0010000 42, 0010010 1, 0011000 1,
0011100 5, 0011110 6, 0101100 2, 0101110 4, 0110000 14, 0110010 1, 0111000 1, 0111110 2,
1000010 1, 1001000 14, 1001010 3, 1001100 10, 1001110 12, 1001111 1, 1010000 44, 1010001 3,
1011000 15, 1011001 1, 1011010 2, 1011100 7, 1011110 3, 1101000 2, 1101010 1, 1101011 1,
1101100 1, 1101111 1, 1110000 5, 1111000 3
"""
# displacement, horsepower, manual gears
DISP = """
160 160 108 258 360 225 360 146.7 140.8 167.6 167.6 275.8 275.8 275.8 472 460 440 78.7 75.7 71.1
120.1 318 304 350 400 79 120.3 95.1 351 145 301 121
"""
HP = """
110 110 93 110 175 105 245 62 95 123 123 180 180 180 205 215 230 66 52 65 97 150 150 245 175 66
91 113 264 175 335 109
"""
AM = """
1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 0 0 0 0 0 1 1 1 1 1 1 1
"""


def endometrial() -> tuple[Floats, Floats]:
    """Return histology, and the design: intercept, NV, PI, EH."""
    table = np.array([word.split() for word in ENDOMETRIAL.replace("\n", " ").split(",")], float)
    table[:, 2] /= 100
    return table[:, 3], with_intercept(table[:, :3])


def sex2() -> tuple[Floats, Floats]:
    """Return case, and the design: intercept, age, oc, vic, vicl, vis, dia."""
    rows: list[list[int]] = []
    for word in SEX2.replace("\n", " ").split(","):
        digits, women = word.split()
        rows += [[int(digit) for digit in digits]] * int(women)
    table = np.array(rows, np.float64)
    return table[:, 0], with_intercept(table[:, 1:])


def motor_cars() -> tuple[Floats, Floats]:
    """Return manual gears, and displacement and horsepower."""
    disp, hp, manual = (np.array(item.split(), float) for item in (DISP, HP, AM))
    return manual, np.column_stack([disp, hp])


def with_intercept(columns: Floats) -> Floats:
    """Return a design."""
    return np.column_stack([np.ones(len(columns)), columns])
