// A call whose failure a person is told.

import { toast } from "svelte-sonner";
import { asApiError } from "../host";

/** Runs a call; what goes wrong is told, and stays until read. */
export async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    const error = asApiError(thrown);
    toast.error(error.message, { description: error.hint ?? undefined, duration: Number.POSITIVE_INFINITY, closeButton: true });
    return undefined;
  }
}
