import { beforeEach, describe, expect, it } from "vitest";
import { Keys, isTyping } from "./keys";

let keys: Keys;
let done: string[];
let dialog: boolean;
let at: number;

beforeEach(() => {
  document.body.innerHTML = '<input id="text"><input id="box" type="checkbox"><button id="button"></button>';
  [done, dialog, at] = [[], false, 10_000];
  keys = new Keys(() => dialog);
  const does = (what: string) => () => void done.push(what);
  keys.bind([
    { keys: "d", run: does("diagnose") },
    { keys: "g d", run: does("doctor") },
    { keys: "g f", run: does("fleet") },
    { keys: "g i", run: does("incidents") },
    { keys: "x", run: does("clear") },
    { keys: "?", run: does("help"), dialog: () => true },
    { keys: "/", run: does("filter") },
    { keys: "$mod+k", run: does("palette"), typing: true },
    { keys: "Enter", run: does("open") },
    { keys: "j", run: does("down"), repeats: true },
    { keys: "Escape", run: does("out"), typing: true },
  ]);
});

/** Presses as a browser tells them: `key` is what is printed, `code` where it lies, and each modifier is pressed by itself before. */
function press(key: string, told: KeyboardEventInit & { on?: string; after?: number; altGraph?: boolean } = {}): KeyboardEvent {
  const { on, after = 90, altGraph = false, ...init } = told;
  at += after;
  const target = on ? document.getElementById(on)! : document.body;
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, modifierAltGraph: altGraph, ...init });
  Object.defineProperty(event, "timeStamp", { value: at });
  Object.defineProperty(event, "target", { value: target });
  keys.press(event);
  return event;
}
const shifted = (key: string, code: string) => {
  press("Shift", { code: "ShiftLeft", shiftKey: true });
  return press(key, { code, shiftKey: true });
};

describe("keys", () => {
  it("signs are told by what they print, whatever is held for it", () => {
    shifted("?", "Slash");
    shifted("?", "Minus"); // German
    press("?", { code: "KeyW", altGraph: true, ctrlKey: true, altKey: true }); // AltGr as Windows tells it
    press("?", { code: "Slash" });
    shifted("/", "Digit7"); // German
    expect(done).toEqual(["help", "help", "help", "help", "filter"]);
    press("?", { shiftKey: true, ctrlKey: true });
    press("/", { altKey: true });
    press("/", { metaKey: true });
    expect(done).toHaveLength(5);
  });

  it("a chord comes before a key of its own", () => {
    press("g");
    expect(press("d").defaultPrevented).toBe(true);
    press("d");
    expect(done).toEqual(["doctor", "diagnose"]);
  });

  it("no chord is lost, however soon it follows", () => {
    for (const key of ["g", "i", "g", "f", "g", "d", "g", "i"]) press(key, { after: 30 });
    expect(done).toEqual(["incidents", "fleet", "doctor", "incidents"]);
  });

  it("begins anew with its first key, and waits no longer than it says", () => {
    press("g");
    press("g");
    press("i");
    press("g");
    press("d", { after: 5_000 });
    expect(done).toEqual(["incidents", "diagnose"]);
  });

  it("the last key of a chord that there is not does nothing by itself", () => {
    press("g");
    press("x");
    press("x");
    press("g");
    press("Escape");
    expect(done).toEqual(["clear", "out"]);
  });

  it("a held key does not go on to something else", () => {
    press("g");
    press("g", { repeat: true });
    press("d");
    press("d", { repeat: true });
    press("j");
    press("j", { repeat: true });
    press("?", { shiftKey: true, repeat: true });
    expect(done).toEqual(["doctor", "down", "down"]);
  });

  it("letters are letters: not with Shift, Ctrl, Alt or Meta, but with CapsLock", () => {
    shifted("D", "KeyD");
    for (const held of ["ctrlKey", "altKey", "metaKey"]) press("d", { [held]: true });
    expect(done).toEqual([]);
    press("D", { modifierCapsLock: true });
    press("k", { ctrlKey: true });
    expect(done).toEqual(["diagnose", "palette"]);
  });

  it("letters of another script are told by where they lie", () => {
    press("п", { code: "KeyG" });
    press("в", { code: "KeyD" });
    press("о", { code: "KeyJ" });
    press("л", { code: "KeyK", ctrlKey: true });
    press("d", { code: "KeyH" }); // Dvorak: what is printed counts
    press("ü", { code: "BracketLeft" });
    expect(done).toEqual(["doctor", "down", "palette", "diagnose"]);
  });

  it("what is typed is text, and Enter presses the button that has the focus", () => {
    for (const key of ["d", "g", "f", "?", "/"]) expect(press(key, { on: "text" }).defaultPrevented).toBe(false);
    press("k", { on: "text", ctrlKey: true });
    press("Escape", { on: "text" });
    expect(done).toEqual(["palette", "out"]);
    expect(press("Enter", { on: "button" }).defaultPrevented).toBe(false);
    press("Enter");
    press("d", { on: "box" });
    expect(done.slice(2)).toEqual(["open", "diagnose"]);
    expect(isTyping(document.getElementById("box"))).toBe(false);
  });

  it("a dialog has the keyboard for itself", () => {
    dialog = true;
    for (const key of ["d", "g", "f", "j", "Enter", "Escape"]) press(key);
    press("?", { shiftKey: true });
    expect(done).toEqual(["help"]);
  });

  it("a view's keys come first, and go with it", () => {
    let taken = true;
    const end = keys.bind([{ keys: "d", run: () => (taken ? void done.push("view") : false) }]);
    press("d");
    taken = false;
    press("d");
    press("g");
    press("d");
    end();
    press("d");
    expect(done).toEqual(["view", "diagnose", "doctor", "diagnose"]);
  });

  it("a composed letter and a press that somebody has taken are left alone", () => {
    press("d", { isComposing: true });
    const event = new KeyboardEvent("keydown", { key: "d", cancelable: true });
    event.preventDefault();
    keys.press(event);
    expect(done).toEqual([]);
  });

  it("Escape that closes a dialog is not heard a second time", () => {
    const end = keys.listen(window);
    dialog = true;
    const close = () => (dialog = false);
    document.addEventListener("keydown", close);
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
    expect(done).toEqual([]);
    document.removeEventListener("keydown", close);
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
    expect(done).toEqual(["out"]);
    end();
  });
});
