/** Runs what belongs to the program: what it throws is reported, and stops nothing of ours. */
export function guarded(run: () => void, report: (error: unknown) => void): void {
  try {
    run();
  } catch (error) {
    report(error);
  }
}
