/** Aggregates of one argument whose results values can be taken from again, and MIN and MAX. */
const running = ['count', 'sum', 'avg', 'min', 'max', 'bool_and', 'bool_or'] as const;

/** Aggregates that keep all values of a group until its end. */
const keeping = [
  'string_agg',
  'array_agg',
  'median',
  'percentile_cont',
  'percentile_disc',
  'stddev_samp',
  'stddev_pop',
  'var_samp',
  'var_pop',
] as const;

export type RunningAggregateName = (typeof running)[number];
export type KeepingAggregateName = (typeof keeping)[number];
/** `text_statistics` is what `rank` compares a text with; statements cannot name it. */
export type AggregateName = RunningAggregateName | KeepingAggregateName | 'text_statistics';

const otherNames: ReadonlyMap<string, RunningAggregateName | KeepingAggregateName> = new Map([
  ['every', 'bool_and'],
  // Gathered as an array, and then written as JSON.
  ['json_agg', 'array_agg'],
  ['stddev', 'stddev_samp'],
  ['variance', 'var_samp'],
]);

/** Every name that a statement can use, in lower case. */
export const aggregateNames: ReadonlySet<string> = new Set([
  ...running,
  ...keeping,
  ...otherNames.keys(),
]);

/** The aggregate that a name in lower case means. */
export function aggregateNamed(
  name: string,
): RunningAggregateName | KeepingAggregateName | undefined {
  const other = otherNames.get(name);
  if (other !== undefined) return other;
  return [...running, ...keeping].find((known) => known === name);
}

export function isKeepingAggregate(name: AggregateName): name is KeepingAggregateName {
  return (keeping as readonly string[]).includes(name);
}
