/** What other hosts of a cluster have of a module's log. */
export interface LogsElsewhere {
  /** The newest lines of each host that answered, as JSON lines, the oldest first. */
  readonly texts: readonly string[];
  /** Names of the hosts that did not answer: what they have is missing. */
  readonly silent: readonly string[];
}
