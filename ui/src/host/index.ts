// The one way out of the front end. Whoever hosts it (the desktop window, or the loopback bridge) is behind `call` and
// `subscribe`; nothing else in this folder's siblings knows which one it is.

import type { ApiError } from "../api/generated";
import type { Ears } from "./line";

/** A host: calls commands and sends patches. */
export interface Host {
  call<T>(name: string, request: unknown): Promise<T>;
  /** Begins a stream of patches; the first is whole. Tells as well when nobody sends it any more. Gives a function that ends it. */
  subscribe(ears: Ears): () => void;
}

const inWindow = "__TAURI_INTERNALS__" in window;
let host: Promise<Host> | undefined;

function current(): Promise<Host> {
  host ??= inWindow ? import("./tauri").then((module) => module.host) : import("./web").then((module) => module.host);
  return host;
}

/** Calls a command. What it throws is an ApiError. */
export async function call<T>(name: string, request: unknown): Promise<T> {
  try {
    return await (await current()).call<T>(name, request);
  } catch (error) {
    throw asApiError(error);
  }
}

/** Begins the stream of patches. */
export function subscribe(ears: Ears): () => void {
  let end: (() => void) | undefined;
  let ended = false;
  void current().then((host) => {
    if (!ended) end = host.subscribe(ears);
  });
  return () => {
    ended = true;
    end?.();
  };
}

/** Anything thrown, as an ApiError. */
export function asApiError(error: unknown): ApiError {
  if (typeof error === "object" && error !== null && "code" in error && "message" in error) return error as ApiError;
  return { code: "host", message: error instanceof Error ? error.message : String(error), hint: null };
}
