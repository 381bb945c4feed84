use ark_bls12_381::{Fr as ArkFr, G1Affine, G1Projective};
use ark_ec::{CurveGroup, PrimeGroup, VariableBaseMSM};
use ark_ff::{One, Zero};
use dwell_kernels::{Affine, Fr, Machine, Processor, sum};

use crate::{Numbers, plain, point};

const START: u64 = 12_345;
const STRIDE: u64 = 678_901;

fn series(count: u64) -> Vec<ArkFr> {
    (0..count).map(|i| ArkFr::from(START + i * STRIDE)).collect()
}

#[test]
fn points_of_a_series_are_what_they_should_be() {
    let generator = G1Projective::generator();
    let step = point(generator * ArkFr::from(STRIDE));
    // Not a multiple of what a thread makes at once.
    let count = 203;
    let made = sum::make_points(&Processor, step, START, STRIDE, count).unwrap();
    let got: Vec<Affine> = Processor.items(&made, count as usize).unwrap();
    let expected: Vec<Affine> = series(count).into_iter().map(|factor| point(generator * factor)).collect();
    assert_eq!(got, expected);
    // From infinity on: 0 G is among them.
    let from_zero = sum::make_points(&Processor, step, 0, STRIDE, 9).unwrap();
    let got: Vec<Affine> = Processor.items(&from_zero, 9).unwrap();
    assert_eq!(got[0], Affine::default());
    assert_eq!(got[1], step);
}

fn products(points: &[Affine], scalars: &[ArkFr], together: u32) -> Affine {
    let points = Processor.holding(points).unwrap();
    let count = scalars.len() as u32;
    let scalars = Processor.holding(&scalars.iter().map(|s| plain(*s)).collect::<Vec<Fr>>()).unwrap();
    sum::products(&Processor, &points, &scalars, count, together).unwrap()
}

#[test]
fn a_sum_of_products_is_one_scalar_times_the_generator() {
    let count = 3_000;
    let step = point(G1Projective::generator() * ArkFr::from(STRIDE));
    let points: Vec<Affine> = {
        let made = sum::make_points(&Processor, step, START, STRIDE, count).unwrap();
        Processor.items(&made, count as usize).unwrap()
    };
    let mut random = Numbers(11);
    let mut scalars: Vec<ArkFr> = (0..count).map(|_| random.fr()).collect();
    // Digits at their limits, carries through every window, nothing at all.
    scalars[..8].copy_from_slice(&[
        ArkFr::zero(),
        ArkFr::one(),
        -ArkFr::one(),
        ArkFr::from(32_767),
        ArkFr::from(32_768),
        ArkFr::from(32_769),
        ArkFr::from(65_535),
        ArkFr::from(u64::MAX),
    ]);
    let whole: ArkFr = series(count).iter().zip(&scalars).map(|(factor, scalar)| *factor * scalar).sum();
    let expected = point(G1Projective::generator() * whole);
    for together in [16, 4, 1] {
        assert_eq!(products(&points, &scalars, together), expected, "{together} windows at a time");
    }
}

#[test]
fn repeated_opposite_and_infinite_points_are_summed_right() {
    let generator = G1Projective::generator();
    let mut random = Numbers(12);
    let base = generator * random.fr();
    // The same point with the same digit in one bucket: doubling; its opposite: infinity; and infinity itself.
    let points: Vec<G1Affine> =
        [base, base, base, -base, G1Projective::zero(), generator, -generator, base].map(CurveGroup::into_affine).to_vec();
    let same = random.fr();
    let scalars = vec![same, same, same, same, same, ArkFr::from(5), ArkFr::from(5), -same];
    let expected = point(G1Projective::msm(&points, &scalars).unwrap());
    let ours: Vec<Affine> = points.iter().map(|p| point(*p)).collect();
    assert_eq!(products(&ours, &scalars, 16), expected);
    let nothing = vec![ArkFr::zero(); 4];
    assert_eq!(products(&ours[..4], &nothing, 16), Affine::default());
}

#[test]
fn chosen_points_are_summed() {
    let count = 1_000_u64;
    let step = point(G1Projective::generator() * ArkFr::from(STRIDE));
    let points = sum::make_points(&Processor, step, START, STRIDE, count).unwrap();
    let mut random = Numbers(13);
    let words: Vec<u32> = (0..count.div_ceil(32)).map(|_| random.next() as u32).collect();
    for words in [words.clone(), vec![0; words.len()], vec![u32::MAX; words.len()]] {
        let chosen = |i: &u64| (words[(*i / 32) as usize] >> (i % 32)) & 1 == 1;
        let whole: ArkFr = (0..count).filter(chosen).map(|i| ArkFr::from(START + i * STRIDE)).sum();
        let bits = Processor.holding(&words).unwrap();
        let got = sum::selected(&Processor, &points, &bits, count).unwrap();
        assert_eq!(got, point(G1Projective::generator() * whole));
    }
}
