/** Runs a callback of the program: errors that it throws are reported, and stop nothing of ours. */
export function guarded(run: () => void, report: (error: unknown) => void): void {
  try {
    run();
  } catch (error) {
    report(error);
  }
}
