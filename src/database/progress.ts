/**
 * Where the actor says what it is about to do, for an owner that watches from another thread and
 * may have to end it. Called around every request: an implementation must cost next to nothing.
 */
export interface Progress {
  /** User code may run now, on behalf of the request with this ticket. */
  calling(ticket: number): void;
  /** Within what was said last, a view is evaluated now. It has no time of its own. */
  viewing(): void;
  /** The view is over; what was said before goes on. */
  viewed(): void;
  /** A program is evaluated now. */
  loading(): void;
  /**
   * The records of all requests up to this ticket are given to the operating system now. Should the
   * actor end before it hands their outcomes over, nobody knows whether they happened.
   */
  writing(ticket: number): void;
  /** None of these. */
  resting(): void;
}

/** For an owner on the same thread, which could not end anything. */
export const noProgress: Progress = {
  calling() {},
  viewing() {},
  viewed() {},
  loading() {},
  writing() {},
  resting() {},
};
