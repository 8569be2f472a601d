"""A hearing test of both ears, with a simulated listener: which tones are played, and what the audiogram is.

    python examples/hearing.py [a file for the picture, such as audiogram.png]

Somebody of sixty has lost the high frequencies, more on the left. The test knows nothing of that, nor how sharp the
listener's answers are: it begins with what ears are like at that age, and asks until it knows every threshold to
±7.5 dB, or has played forty tones.
"""

import sys

import numpy as np

from gainful.hearing import FREQUENCIES, HearingTest, Listener

TRUTH = [[10, 10, 15, 25, 35, 40, 45], [10, 15, 25, 45, 60, 60, 65]]


def main() -> None:
    somebody, rng = Listener(TRUTH, FREQUENCIES, spread=5.0, guess=0.03, lapse=0.03), np.random.default_rng(7)
    test = HearingTest(("right", "left"), age=60, precision=7.5, sure=0.9, most=40)
    while tone := test.ask():
        heard = somebody.answer(tone, rng)
        if len(test.answers) < 6:
            said = "heard" if heard else "not heard"
            print(f"{tone.frequency:5.0f} Hz at {tone.level:3.0f} dB, {test.ears[tone.ear]:5s}: {said}")
        test.tell(tone, heard)
    print("…\n")
    print(test.describe())
    off = [abs(t.median - TRUTH[t.ear][FREQUENCIES.index(t.frequency)]) for t in test.audiogram()]
    print(f"\nOff by {np.mean(off):.1f} dB on average, by {max(off):.0f} dB at most.")
    if len(sys.argv) > 1:
        from matplotlib import pyplot as plt

        from gainful.hearing import plot_audiogram

        plot_audiogram(test)
        plt.savefig(sys.argv[1], dpi=130)


if __name__ == "__main__":
    main()
