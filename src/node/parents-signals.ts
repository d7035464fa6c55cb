/**
 * Ignores signals that the gateway must decide on: a terminal sends Ctrl-C to all processes of a
 * service at once, and a supervisor may send SIGTERM to them. This process goes on, and ends with
 * its parent.
 */
export function leaveSignalsToParent(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
}
