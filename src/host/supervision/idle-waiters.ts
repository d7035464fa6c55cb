/** Those who wait until nothing is under way. */
export class IdleWaiters {
  #waiters: (() => void)[] = [];

  /** `undefined`: there is nothing to wait for. */
  until(isBusy: boolean): Promise<void> | undefined {
    if (!isBusy) return undefined;
    return new Promise((idle) => this.#waiters.push(idle));
  }

  /** Called whenever something has ended. */
  tell(isBusy: boolean): void {
    if (this.#waiters.length === 0 || isBusy) return;
    for (const idle of this.#waiters.splice(0)) idle();
  }
}
