/** Gives items as they come, and ends when the signal is aborted, also while it waits for one. */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item, void> {
  const iterator = items[Symbol.asyncIterator]();
  let end = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  signal.addEventListener('abort', end);
  try {
    while (!signal.aborted) {
      const next = iterator.next();
      const result = await Promise.race([next, aborted]);
      if (result === undefined) {
        // What is left of it is nobody's concern.
        next.catch(() => undefined);
        return;
      }
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    // Where an item is still awaited, that takes as long.
    const closed = Promise.resolve(iterator.return?.());
    if (signal.aborted) closed.catch(() => undefined);
    else await closed;
  }
}
