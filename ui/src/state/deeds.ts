// What can be done to one instance: in the palette, on its page, with its name in each title.

import type { InstanceRow } from "../api/generated";
import { acting } from "./acts.svelte";
import { named } from "./inview.svelte";
import { rolling } from "./rolling.svelte";

export interface Deed {
  id: string;
  /** On a button beside the instance's name. */
  label: string;
  /** What it does and to which instance; without one, to which it would. */
  title: (row: InstanceRow | undefined) => string;
  /** Why it cannot be done to this one, if it cannot. */
  unless: (row: InstanceRow) => string | undefined;
  /** Shows first what would happen. */
  ask: (row: InstanceRow) => void;
}

const NOBODY = "the instance in view";
const name = (row: InstanceRow | undefined) => (row ? named(row) : NOBODY);
const noRental = (row: InstanceRow) => (row.vast_id === null ? "its rental is not known" : undefined);
const killed = (row: InstanceRow) => (row.state === "killed" ? "it is killed" : undefined);
const plan = (deed: string) => (row: InstanceRow) => void acting.ask(deed, [row.id]);

export const deeds: Deed[] = [
  {
    id: "kill",
    label: "Kill…",
    title: (row) => `Kill ${name(row)}`,
    unless: (row) => killed(row) ?? (row.uuid === null ? "the manager has given it no id yet" : undefined),
    ask: plan("kill"),
  },
  {
    id: "replace",
    label: "Replace…",
    title: (row) => `Replace ${name(row)}`,
    unless: (row) => killed(row) ?? noRental(row),
    ask: (row) => rolling.ask({ ids: [row.id], gpu: row.gpu_name }),
  },
  { id: "destroy", label: "Destroy…", title: (row) => `Destroy ${name(row)}`, unless: noRental, ask: plan("destroy") },
  {
    id: "reboot",
    label: "Reboot…",
    title: (row) => `Reboot ${name(row)}`,
    unless: (row) => killed(row) ?? noRental(row),
    ask: plan("reboot"),
  },
  {
    id: "stop",
    label: "Stop…",
    title: (row) => `Stop ${name(row)}`,
    unless: (row) => killed(row) ?? noRental(row),
    ask: plan("stop"),
  },
  {
    id: "start",
    label: "Start…",
    title: (row) => `Start ${name(row)}`,
    unless: (row) => killed(row) ?? noRental(row),
    ask: plan("start"),
  },
  {
    id: "ban",
    label: "Ban the machine…",
    title: (row) => `Ban the machine of ${name(row)}`,
    unless: (row) => (row.machine_id === null ? "its machine is not known" : undefined),
    ask: (row) => void acting.ask("ban", [row.id], `${row.flag?.kind ?? "not wanted"} in ${row.state}`),
  },
];
