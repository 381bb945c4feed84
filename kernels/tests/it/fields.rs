use ark_bls12_381::{Fq, Fr as ArkFr, G1Affine, G1Projective};
use ark_ec::{AffineRepr, PrimeGroup};
use ark_ff::{AdditiveGroup, Field, One, PrimeField, Zero};
use dwell_kernels::{Affine, FieldOperation, Fp, Fr, Kernel, Machine, Processor, arguments};

use crate::{Numbers, fp, fr, plain, point};

fn edges<F: PrimeField>(mut random: impl FnMut() -> F) -> Vec<F> {
    let mut numbers = vec![F::zero(), F::one(), F::one().double(), -F::one(), -F::one().double(), F::from(u64::MAX)];
    // Limbs of ones and zeros in a row, where carries run far.
    numbers.extend([31_u64, 32, 63, 64, 127, 128, 191, 192, 254].map(|bits| F::from(2_u64).pow([bits])));
    numbers.extend([32_u64, 64, 128, 254].map(|bits| F::from(2_u64).pow([bits]) - F::one()));
    numbers.extend((0..40).map(|_| random()));
    numbers
}

#[test]
fn the_base_field_is_the_other_librarys() {
    let mut random = Numbers(1);
    let numbers: Vec<Fq> = edges(|| random.fq());
    for a in &numbers {
        for b in &numbers {
            let of = |what| Processor.fp(what, &fp(*a), &fp(*b));
            assert_eq!(of(FieldOperation::Add), fp(*a + b), "{a} + {b}");
            assert_eq!(of(FieldOperation::Subtract), fp(*a - b), "{a} - {b}");
            assert_eq!(of(FieldOperation::Multiply), fp(*a * b), "{a} {b}");
        }
        let of = |what| Processor.fp(what, &fp(*a), &fp(*a));
        assert_eq!(of(FieldOperation::Invert), fp(a.inverse().unwrap_or_default()), "1/{a}");
        assert_eq!(of(FieldOperation::Negate), fp(-*a), "-{a}");
        assert_eq!(of(FieldOperation::Plain), Fp(crate::halves(a.into_bigint().0)), "{a}");
    }
}

#[test]
fn the_scalar_field_is_the_other_librarys() {
    let mut random = Numbers(2);
    let numbers: Vec<ArkFr> = edges(|| random.fr());
    for a in &numbers {
        for b in &numbers {
            let of = |what| Processor.fr(what, &fr(*a), &fr(*b));
            assert_eq!(of(FieldOperation::Add), fr(*a + b), "{a} + {b}");
            assert_eq!(of(FieldOperation::Subtract), fr(*a - b), "{a} - {b}");
            assert_eq!(of(FieldOperation::Multiply), fr(*a * b), "{a} {b}");
        }
        let of = |what| Processor.fr(what, &fr(*a), &fr(*a));
        assert_eq!(of(FieldOperation::Invert), fr(a.inverse().unwrap_or_default()), "1/{a}");
        assert_eq!(of(FieldOperation::Negate), fr(-*a), "-{a}");
        assert_eq!(of(FieldOperation::Plain), plain(*a), "{a}");
    }
}

#[test]
fn points_are_added_whatever_they_are() {
    let generator = G1Projective::generator();
    assert_eq!(Affine::GENERATOR, point(G1Affine::generator()));
    let mut random = Numbers(3);
    let mut points: Vec<G1Projective> =
        vec![G1Projective::zero(), generator, -generator, generator.double(), generator * ArkFr::from(3)];
    points.extend((0..6).map(|_| generator * random.fr()));
    for a in &points {
        for b in &points {
            // Among them infinity on either side, equal points and opposite points.
            assert_eq!(Processor.points(&point(*a), &point(*b), false), Some(point(*a + b)), "a + b");
            assert_eq!(Processor.points(&point(*a), &point(*b), true), Some(point(*a - b)), "a - b");
        }
    }
}

#[test]
fn chains_of_products_are_powers() {
    const ROUNDS: u32 = 100;
    let mut random = Numbers(4);
    let threads = Kernel::FrChain.threads() as usize;

    let numbers: Vec<(ArkFr, ArkFr)> = (0..threads).map(|_| (random.fr(), random.fr())).collect();
    let x = Processor.holding(&numbers.iter().map(|(x, _)| fr(*x)).collect::<Vec<_>>()).unwrap();
    let y = Processor.holding(&numbers.iter().map(|(_, y)| fr(*y)).collect::<Vec<_>>()).unwrap();
    let chain = arguments::Chain { x: x.address(), y: y.address(), rounds: ROUNDS, unused: 0 };
    Processor.run(Kernel::FrChain, 1, &chain).unwrap();
    let expected: Vec<Fr> = numbers.iter().map(|(x, y)| fr(*x * y.pow([u64::from(ROUNDS)]))).collect();
    assert_eq!(Processor.items::<Fr>(&x, threads).unwrap(), expected);

    let numbers: Vec<(Fq, Fq)> = (0..threads).map(|_| (random.fq(), random.fq())).collect();
    let x = Processor.holding(&numbers.iter().map(|(x, _)| fp(*x)).collect::<Vec<_>>()).unwrap();
    let y = Processor.holding(&numbers.iter().map(|(_, y)| fp(*y)).collect::<Vec<_>>()).unwrap();
    let chain = arguments::Chain { x: x.address(), y: y.address(), rounds: ROUNDS, unused: 0 };
    Processor.run(Kernel::FpChain, 1, &chain).unwrap();
    let expected: Vec<Fp> = numbers.iter().map(|(x, y)| fp(*x * y.pow([u64::from(ROUNDS)]))).collect();
    assert_eq!(Processor.items::<Fp>(&x, threads).unwrap(), expected);
    assert_ne!(Fq::ZERO, Fq::one());
}
