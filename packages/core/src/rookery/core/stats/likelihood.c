/* The normalised log-likelihood ratio of five bins: `normalised_ratio` of likelihood.py, operation by
 * operation, so that both give the same bits. The numbers in capitals are defined by the compiler's
 * command line, from those of numbers.py. Whatever is unusual gives a NaN, and is left to Python. */

#include <math.h>

static void linearise(const double found[5], double sigmas, double slopes[5])
{
    double mean = found[1] * 0.25 + found[2] * 0.5 + found[3] * 0.75 + found[4];
    double off1 = 0.25 - mean, off2 = 0.5 - mean, off3 = 0.75 - mean, off4 = 1.0 - mean;
    double sq0 = mean * mean, sq1 = off1 * off1, sq2 = off2 * off2;
    double sq3 = off3 * off3, sq4 = off4 * off4;
    double sigma = sqrt(found[0] * sq0 + found[1] * sq1 + found[2] * sq2 + found[3] * sq3
                        + found[4] * sq4);
    double offset = 0.5 + sigmas * sigma / 2.0;
    double bend = sigmas / (2.0 * sigma);
    slopes[0] = 0.0 - offset - bend * sq0;
    slopes[1] = 0.25 - offset - bend * sq1;
    slopes[2] = 0.5 - offset - bend * sq2;
    slopes[3] = 0.75 - offset - bend * sq3;
    slopes[4] = 1.0 - offset - bend * sq4;
}

/* The places of the first largest and the first smallest. */
static void extremes(const double slopes[5], int *top, int *bottom)
{
    *top = *bottom = 0;
    for (int i = 1; i < 5; i++) {
        if (slopes[i] > slopes[*top])
            *top = i;
        if (slopes[i] < slopes[*bottom])
            *bottom = i;
    }
}

static double rest(double share)
{
    return 1.0 - (share > SMALLEST_SHARE ? share : SMALLEST_SHARE);
}

static double find_tilt(const double shares[5], const double slopes[5], double start)
{
    int top, bottom;
    extremes(slopes, &top, &bottom);
    if (slopes[top] <= 0.0 || slopes[bottom] >= 0.0)
        return 0.0;
    double left = -1.0 / slopes[top], right = -1.0 / slopes[bottom];
    double low = left * rest(shares[top]), high = right * rest(shares[bottom]);
    double x = low < start && start < high ? start : 0.0;
    for (int round = 0; round < MAX_NEWTON_STEPS; round++) {
        double value = 0.0, fall = 0.0;
        for (int i = 0; i < 5; i++) {
            double ratio = slopes[i] / (1.0 + x * slopes[i]);
            double part = shares[i] * ratio;
            value += part;
            fall += part * ratio;
        }
        if (value > 0.0)
            low = x;
        else
            high = x;
        double from_left = x - left, from_right = right - x;
        if (from_left == 0.0 || from_right == 0.0)
            return NAN;
        double change = value * (1.0 / from_left - 1.0 / from_right) - fall;
        double step = change != 0.0 ? -value / change : 0.0;
        if (!(low <= x + step && x + step <= high))
            step = (low + high) / 2.0 - x;
        x += step;
        double size = fabs(step), nearest = from_right < from_left ? from_right : from_left;
        if (size <= STEP_THAT_SETTLES * nearest || size <= ROUNDING * fabs(x))
            break;
    }
    return x;
}

/* Tilts until the mean is `sigmas` above one half; the slopes belong to the tilt. */
static double tilt_to_sigmas(const double shares[5], double sigmas, double slopes[5])
{
    if (sigmas == 0.0) {
        for (int i = 0; i < 5; i++)
            slopes[i] = i * 0.25 - 0.5;
        return find_tilt(shares, slopes, 0.0);
    }
    double found[5] = {0.2, 0.2, 0.2, 0.2, 0.2};
    int top, bottom;
    sigmas = sigmas < MAX_SIGMAS ? sigmas : MAX_SIGMAS;
    sigmas = sigmas > -MAX_SIGMAS ? sigmas : -MAX_SIGMAS;
    linearise(found, sigmas, slopes);
    extremes(slopes, &top, &bottom);
    if (slopes[top] <= 0.0 || slopes[bottom] >= 0.0)
        return NAN;
    double tilt = find_tilt(shares, slopes, 0.0);
    for (int round = 1; round < MAX_REFINEMENTS; round++) {
        double moved = 0.0;
        for (int i = 0; i < 5; i++) {
            double last = found[i];
            found[i] = shares[i] / (1.0 + tilt * slopes[i]);
            moved = fmax(moved, fabs(found[i] - last));
        }
        if (moved < CONVERGED)
            break;
        linearise(found, sigmas, slopes);
        tilt = find_tilt(shares, slopes, tilt);
    }
    return tilt;
}

double rookery_normalised_ratio(double n0, double n1, double n2, double n3, double n4,
                                double nelo0, double nelo1)
{
    double counts[5] = {n0, n1, n2, n3, n4}, shares[5], null[5], alternative[5];
    double total = 0.0, ratio = 0.0;
    for (int i = 0; i < 5; i++) {
        if (!(counts[i] >= 0.0))
            return NAN;
        if (counts[i] == 0.0)
            counts[i] = EMPTY_BIN;
        total += counts[i];
    }
    for (int i = 0; i < 5; i++)
        shares[i] = counts[i] / total;
    double tilt0 = tilt_to_sigmas(shares, nelo0 * SIGMAS_PER_NELO, null);
    double tilt1 = tilt_to_sigmas(shares, nelo1 * SIGMAS_PER_NELO, alternative);
    for (int i = 0; i < 5; i++)
        ratio += counts[i] * (log1p(tilt0 * null[i]) - log1p(tilt1 * alternative[i]));
    return isfinite(ratio) ? ratio : NAN;
}
