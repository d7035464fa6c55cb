/** Waits for an answer; calls `cancel` when, or because, the signal is aborted meanwhile. */
export async function abortable<Answer>(
  answer: Promise<Answer>,
  signal: AbortSignal | undefined,
  cancel: () => void,
): Promise<Answer> {
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted === true) cancel();
  try {
    return await answer;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}
