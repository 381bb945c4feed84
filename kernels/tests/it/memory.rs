use dwell_kernels::{Kernel, Machine, MachineError, Processor, arguments};

const QUADS: usize = 10_000;

fn written(seed: u32) -> Vec<[u32; 4]> {
    (0..QUADS as u32)
        .map(|i| {
            let x = i.wrapping_mul(2_654_435_761).wrapping_add(seed);
            [x, x ^ 0x9e37_79b9, x.wrapping_add(0x7f4a_7c15), !x]
        })
        .collect()
}

#[test]
fn memory_is_written_copied_and_read() {
    let bytes = QUADS * 16;
    let (to, copy) = (Processor.memory(bytes).unwrap(), Processor.memory(bytes).unwrap());
    let write = arguments::WriteMemory { to: to.address(), count: QUADS as u64, seed: 77, unused: 0 };
    Processor.run(Kernel::WriteMemory, 3, &write).unwrap();
    assert_eq!(Processor.items::<[u32; 4]>(&to, QUADS).unwrap(), written(77));
    let moved = arguments::CopyMemory { to: copy.address(), from: to.address(), count: QUADS as u64 };
    Processor.run(Kernel::CopyMemory, 5, &moved).unwrap();
    assert_eq!(Processor.items::<[u32; 4]>(&copy, QUADS).unwrap(), written(77));

    let threads = 2 * Kernel::ReadMemory.threads() as usize;
    let out = Processor.memory(threads * 4).unwrap();
    let read = arguments::ReadMemory { from: copy.address(), count: QUADS as u64, out: out.address() };
    Processor.run(Kernel::ReadMemory, 2, &read).unwrap();
    let mut expected = vec![0_u32; threads];
    for (i, quad) in written(77).iter().enumerate() {
        expected[i % threads] ^= quad.iter().fold(0, |all, word| all ^ word);
    }
    assert_eq!(Processor.items::<u32>(&out, threads).unwrap(), expected);
}

#[test]
fn multiply_adds_are_what_they_are_called() {
    const ROUNDS: u32 = 9;
    const SEED: u32 = 0x1234_5677;
    let threads = Kernel::MultiplyAdd.threads() as usize;
    let narrow = Processor.memory(threads * 4).unwrap();
    let wide = Processor.memory(threads * 8).unwrap();
    for (kernel, out) in [(Kernel::MultiplyAdd, &narrow), (Kernel::MultiplyAddWide, &wide)] {
        Processor.run(kernel, 1, &arguments::MultiplyAdd { out: out.address(), rounds: ROUNDS, seed: SEED }).unwrap();
    }
    let expected = |thread: u32, wide: bool| {
        let factor = thread.wrapping_mul(2).wrapping_add(SEED);
        (1..=16_u64).fold(0, |all, first| {
            let sum = (0..ROUNDS).fold(first, |sum, _| {
                if wide {
                    sum.wrapping_add(u64::from(sum as u32).wrapping_mul(u64::from(factor)))
                } else {
                    u64::from((sum as u32).wrapping_add((sum as u32).wrapping_mul(factor)))
                }
            });
            all ^ sum
        })
    };
    let narrow: Vec<u32> = Processor.items(&narrow, threads).unwrap();
    let wide: Vec<u64> = Processor.items(&wide, threads).unwrap();
    for thread in 0..threads as u32 {
        assert_eq!(u64::from(narrow[thread as usize]), expected(thread, false) & 0xffff_ffff);
        assert_eq!(wide[thread as usize], expected(thread, true));
    }
}

#[test]
fn what_a_kernel_is_given_has_the_size_that_it_reads() {
    // The wrong arguments are refused before they are read.
    let wrong = Processor.launch(Kernel::Transform, 1, &[0; 8]).unwrap_err();
    assert!(matches!(&wrong, MachineError::Failed(words) if words.contains("dw_transform")), "{wrong}");
    let memory = Processor.memory(8).unwrap();
    assert!(Processor.write(&memory, &[0; 9]).is_err() && Processor.read(&memory, &mut [0; 9]).is_err());
}

#[test]
fn the_ptx_is_for_old_drivers_and_has_every_kernel() {
    let ptx = dwell_kernels::PTX;
    assert!(ptx.contains("\n.version 8.0\n") && ptx.contains("\n.target sm_75\n"));
    for kernel in Kernel::ALL {
        assert!(ptx.contains(&format!(".visible .entry {}(", kernel.name())), "{kernel:?}");
    }
    assert_eq!(ptx.matches(".visible .entry ").count(), Kernel::ALL.len());
}
