// The keyboard, in one place. Views add what their keys do and take it away again; what a press means is decided here:
// a chord that has begun comes before everything else, and signs are told by what they print, whatever has to be held for it.

import { matchKeybindingPress, parseKeybinding, type KeybindingPress } from "tinykeys";

export interface Binding {
  /** As tinykeys writes them: `g f`, `$mod+k`, `?`, `Escape`. */
  keys: string;
  /** What the keys do. `false`: nothing after all, so another binding may have them. */
  run: (event: KeyboardEvent) => boolean | void;
  /** Also while a text is being typed. */
  typing?: boolean;
  /** Also while a dialog is open. */
  dialog?: () => boolean;
  /** Over and over while the key is held. */
  repeats?: boolean;
}

/** The second key of a chord comes within this time, ms. */
export const CHORD_WITHIN_MS = 1_500;

const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock", "NumLock", "Fn", "Hyper", "Super", "OS"]);
/** Inputs into which no text goes. */
const NO_TEXT = new Set(["checkbox", "radio", "button", "submit", "reset", "range", "color", "file"]);

interface Known {
  binding: Binding;
  presses: KeybindingPress[];
}

/** Signs such as `?` need Shift on one keyboard, AltGr on another, nothing on a third. */
function presses(keys: string): KeybindingPress[] {
  return parseKeybinding(keys).map((press) => {
    const [required, optional, key] = press;
    const sign = typeof key === "string" && key.length === 1 && !/[\p{L}\p{N}]/u.test(key);
    return sign ? [required, [...optional, "Shift", "Alt", ...(required.length === 0 ? ["Control"] : [])], key] : press;
  });
}

/** On a keyboard of another script a letter is told by where it lies. */
function byPlace(event: KeyboardEvent, [required, optional, key]: KeybindingPress): KeybindingPress {
  const foreign = /^\P{ASCII}$/u.test(event.key) && /^Key[A-Z]$/.test(event.code);
  return foreign && typeof key === "string" && /^[a-z]$/.test(key)
    ? [required, optional, `Key${key.toUpperCase()}`]
    : [required, optional, key];
}

/** Holding Alt or Control is part of a sign only where AltGr is what is held. */
function fits(event: KeyboardEvent, press: KeybindingPress): boolean {
  if (!matchKeybindingPress(event, byPlace(event, press))) return false;
  const [required, optional] = press;
  if (!optional.includes("Alt") || event.getModifierState("AltGraph")) return true;
  return (!event.altKey || required.includes("Alt")) && (!event.ctrlKey || required.includes("Control"));
}

function element(target: EventTarget | null): Element | undefined {
  return target instanceof Element ? target : undefined;
}

/** Whether what is pressed goes into a text. */
export function isTyping(target: EventTarget | null): boolean {
  const field = element(target)?.closest("input, textarea, select, [contenteditable]:not([contenteditable=false])");
  if (!field) return false;
  return !(field instanceof HTMLInputElement && NO_TEXT.has(field.type));
}

/** Enter and Space press the control that has the focus. */
function pressesControl(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" && event.key !== " ") return false;
  return !!element(event.target)?.closest("button, a[href], summary, select, [role=button], [role=radio], [role=option]");
}

function isPlain(event: KeyboardEvent): boolean {
  return [...event.key].length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
}

export class Keys {
  /** The latest that were added come first: a view's before the window's. */
  #known: Known[] = [];
  /** What a chord that has begun may become. */
  #begun: Known[] = [];
  #begunAt = 0;
  #dialog = false;
  #isDialogOpen: () => boolean;

  constructor(isDialogOpen = () => document.querySelector("[role=dialog]:not([data-state=closed])") !== null) {
    this.#isDialogOpen = isDialogOpen;
  }

  /** Adds what keys do; gives a function that takes it away. */
  bind(bindings: Binding[]): () => void {
    const added = bindings.map((binding) => ({ binding, presses: presses(binding.keys) }));
    this.#known = [...added, ...this.#known];
    return () => {
      this.#known = this.#known.filter((one) => !added.includes(one));
      this.#begun = [];
    };
  }

  /** Listens to a window's keys; gives a function that ends it. */
  listen(target: Window): () => void {
    // Asked before anybody has heard the press: a dialog that it closes was open.
    const before = () => (this.#dialog = this.#isDialogOpen());
    const press = (event: KeyboardEvent) => this.press(event, this.#dialog);
    target.addEventListener("keydown", before, { capture: true });
    target.addEventListener("keydown", press);
    return () => {
      target.removeEventListener("keydown", before, { capture: true });
      target.removeEventListener("keydown", press);
    };
  }

  /** One key is pressed. */
  press(event: KeyboardEvent, dialog = this.#isDialogOpen()) {
    if (event.defaultPrevented || event.isComposing || !event.key || MODIFIERS.has(event.key)) return;
    const typing = isTyping(event.target);
    const allowed = ({ binding }: Known) =>
      (!typing || binding.typing === true) &&
      (!dialog || (binding.dialog?.() ?? false)) &&
      (!event.repeat || binding.repeats === true);

    const begun = event.timeStamp - this.#begunAt <= CHORD_WITHIN_MS ? this.#begun : [];
    if (event.repeat && begun.length > 0) return;
    this.#begun = [];
    const next = begun.filter((one) => allowed(one) && one.presses[0] && fits(event, one.presses[0]));
    if (next.length > 0) return this.#take(event, next);
    const fresh = this.#known.filter((one) => allowed(one) && one.presses[0] && fits(event, one.presses[0]));
    const chords = fresh.filter((one) => one.presses.length > 1);
    if (chords.length > 0) return this.#take(event, chords);
    // A chord that there is not: its last key is no command of its own.
    if (begun.length > 0 && isPlain(event)) return event.preventDefault();
    if (!pressesControl(event)) this.#take(event, fresh);
  }

  #take(event: KeyboardEvent, fitting: Known[]) {
    const longer = fitting.filter((one) => one.presses.length > 1).map((one) => ({ ...one, presses: one.presses.slice(1) }));
    if (longer.length > 0) {
      [this.#begun, this.#begunAt] = [longer, event.timeStamp];
      return event.preventDefault();
    }
    for (const { binding } of fitting) {
      if (binding.run(event) === false) continue;
      return event.preventDefault();
    }
  }
}

export const keys = new Keys();

/** Keys as they are shown. */
export function shownKeys(text: string): string {
  return text.replace("$mod+", /Mac|iP(hone|ad|od)/.test(navigator.platform) ? "⌘ " : "Ctrl ");
}
