use ark_bls12_381::Fr as ArkFr;
use ark_ff::{FftField, Field};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use dwell_kernels::transform::{self, Powers, Tables};
use dwell_kernels::{Fr, Machine, MachineError, Processor};

use crate::{Numbers, ark_fr, fr, plain};

fn reversed(i: usize, log: u32) -> usize {
    i.reverse_bits() >> (usize::BITS - log)
}

#[test]
fn a_transform_is_the_other_librarys_and_can_be_undone() {
    // Two passes of unequal and of equal levels, and three.
    for log in [10, 11, 13, 16, 19] {
        let size = 1_usize << log;
        let mut random = Numbers(u64::from(log));
        let input: Vec<ArkFr> = (0..size).map(|_| random.fr()).collect();
        let data = Processor.holding(&input.iter().map(|x| fr(*x)).collect::<Vec<_>>()).unwrap();
        Tables::new(&Processor, log, false).unwrap().apply(&Processor, &data).unwrap();

        let expected = Radix2EvaluationDomain::<ArkFr>::new(size).unwrap().fft(&input);
        let got: Vec<Fr> = Processor.items(&data, size).unwrap();
        assert!((0..size).all(|i| ark_fr(got[reversed(i, log)]) == expected[i]), "2^{log}, forward");
        transform::reorder(&Processor, &data, log).unwrap();
        let got: Vec<Fr> = Processor.items(&data, size).unwrap();
        assert!((0..size).all(|i| ark_fr(got[i]) == expected[i]), "2^{log}, in natural order");

        transform::reorder(&Processor, &data, log).unwrap();
        Tables::new(&Processor, log, true).unwrap().apply(&Processor, &data).unwrap();
        let factor = ArkFr::from(size as u64);
        let got: Vec<Fr> = Processor.items(&data, size).unwrap();
        assert!((0..size).all(|i| ark_fr(got[i]) == input[i] * factor), "2^{log}, undone");
    }
}

#[test]
fn a_geometric_series_has_a_closed_form() {
    // X_j = (g^n - 1) / (g w^j - 1): how a large transform on a card is checked without another one.
    let (log, size) = (12, 1_u64 << 12);
    let g = ArkFr::from(7_u64);
    let mut power = ArkFr::from(1_u64);
    let input: Vec<Fr> = (0..size)
        .map(|_| {
            let this = power;
            power *= g;
            fr(this)
        })
        .collect();
    let data = Processor.holding(&input).unwrap();
    Tables::new(&Processor, log, false).unwrap().apply(&Processor, &data).unwrap();
    let got: Vec<Fr> = Processor.items(&data, size as usize).unwrap();
    let root = ArkFr::get_root_of_unity(size).unwrap();
    for j in [0, 1, 2, 77, size - 1] {
        let expected = (g.pow([size]) - ArkFr::from(1)) / (g * root.pow([j]) - ArkFr::from(1));
        assert_eq!(ark_fr(got[reversed(j as usize, log)]), expected, "{j}");
    }
}

#[test]
fn what_stands_between_transforms_is_done_element_by_element() {
    // More than one window of powers.
    let (log, size) = (15, 1_usize << 15);
    let mut random = Numbers(9);
    let base = random.fr();
    let powers = Powers::new(&Processor, fr(base), fr(base.pow([1 << 14])), log).unwrap();
    let (factor, z) = (random.fr(), random.fr());
    let [a, b, c]: [Vec<ArkFr>; 3] = std::array::from_fn(|_| (0..size).map(|_| random.fr()).collect());
    let memory = |of: &[ArkFr]| Processor.holding(&of.iter().map(|x| fr(*x)).collect::<Vec<_>>()).unwrap();
    let (in_a, in_b, in_c) = (memory(&a), memory(&b), memory(&c));

    transform::scale(&Processor, &in_b, &powers, fr(factor), size as u64).unwrap();
    let scaled: Vec<Fr> = Processor.items(&in_b, size).unwrap();
    for i in [0, 1, 5, (1 << 14) - 1, 1 << 14, size - 1] {
        assert_eq!(ark_fr(scaled[i]), b[i] * factor * base.pow([i as u64]), "{i}");
    }
    transform::quotient(&Processor, &in_a, &in_b, &in_c, fr(z), size as u64).unwrap();
    let got: Vec<Fr> = Processor.items(&in_a, size).unwrap();
    assert!((0..size).all(|i| ark_fr(got[i]) == (a[i] * ark_fr(scaled[i]) - c[i]) * z));

    transform::convert(&Processor, &in_c, size as u64, true).unwrap();
    assert!(Processor.items::<Fr>(&in_c, size).unwrap().iter().zip(&c).all(|(got, c)| *got == plain(*c)));
    transform::convert(&Processor, &in_c, size as u64, false).unwrap();
    assert!(Processor.items::<Fr>(&in_c, size).unwrap().iter().zip(&c).all(|(got, c)| *got == fr(*c)));
}

#[test]
fn sizes_that_no_block_can_work_on_are_refused() {
    for log in [0, 9, 29] {
        assert_eq!(Tables::new(&Processor, log, false).unwrap_err(), MachineError::Size { log });
    }
}
