/** One line of a scrape: a series and its value. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

/**
 * Reads the text format of Prometheus strictly, and says what `promtool check metrics` would
 * complain of. Throws on the first fault.
 */
export function familiesIn(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, { name: string; type: string; samples: Sample[] }>();
  const helped = new Set<string>();
  let current: { name: string; type: string; samples: Sample[] } | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, help, helpText] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    const [, name, type] = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (help !== undefined) {
      require(helpText !== '' && !helped.has(help), `HELP of ${help}`);
      helped.add(help);
    } else if (name !== undefined && type !== undefined) {
      require(helped.has(name) && !families.has(name), `TYPE of ${name}`);
      current = { name, type, samples: [] };
      families.set(name, current);
    } else {
      require(current !== undefined, line);
      current.samples.push(sampleIn(line));
    }
  }
  for (const family of families.values()) check(family);
  return families;
}

const namePattern = /^[a-z][a-z0-9_]*$/;

function sampleIn(line: string): Sample {
  const [, name = '', inBraces = '', value = ''] =
    /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  require(namePattern.test(name), line);
  const labels: Record<string, string> = {};
  const pair = /([a-z_]+)="((?:[^"\\\n]|\\[\\n"])*)"(?:,(?=[a-z])|$)/y;
  for (let at = 0; at < inBraces.length; at = pair.lastIndex) {
    pair.lastIndex = at;
    const [, label, text] = pair.exec(inBraces) ?? [];
    require(label !== undefined && text !== undefined && !(label in labels), line);
    labels[label] = text;
  }
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
  require(value !== '' && !Number.isNaN(number), line);
  return { name, labels, value: number };
}

/** What is lintable of a family by itself. */
function check({ name, type, samples }: Family): void {
  require(namePattern.test(name), name);
  require((type === 'counter') === name.endsWith('_total'), `the suffix of ${name}, a ${type}`);
  require(!/(_count|_sum|_bucket|_info)$/.test(name), `the suffix of ${name}`);
  const units = /_(ms|millis|micros|milliseconds|minutes|kilobytes|mebibytes|percent)(_|$)/;
  require(!units.test(name), `the unit of ${name}`);
  const series = new Set(samples.map((sample) => JSON.stringify([sample.name, sample.labels])));
  require(series.size === samples.length, `a series of ${name} twice`);
  for (const sample of samples) {
    require(type === 'histogram' || sample.name === name, `${sample.name} in ${name}`);
    require(type === 'histogram' || !('le' in sample.labels), `\`le\` in ${name}`);
    require(type === 'summary' || !('quantile' in sample.labels), `\`quantile\` in ${name}`);
    if (type === 'counter') require(sample.value >= 0, `a negative ${name}`);
  }
  if (type === 'histogram') checkHistogram(name, samples);
}

/** Each series has ascending buckets up to `+Inf`, which is its count, and a sum. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = new Map<string, { buckets: [number, number][]; count?: number; sum?: number }>();
  for (const sample of samples) {
    const { le, ...labels } = sample.labels;
    const key = JSON.stringify(Object.entries(labels).sort());
    const one = series.get(key) ?? { buckets: [] };
    series.set(key, one);
    if (sample.name === `${name}_count`) one.count = sample.value;
    else if (sample.name === `${name}_sum`) one.sum = sample.value;
    else {
      require(sample.name === `${name}_bucket` && le !== undefined, `${sample.name} in ${name}`);
      one.buckets.push([le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), sample.value]);
    }
  }
  for (const { buckets, count, sum } of series.values()) {
    const isOrdered = buckets.every(([le, value], at) => {
      const [before, less] = buckets[at - 1] ?? [Number.NEGATIVE_INFINITY, 0];
      return le > before && value >= less;
    });
    const [last, all] = buckets.at(-1) ?? [];
    const isWhole = last === Number.POSITIVE_INFINITY && all === count && sum !== undefined;
    require(isOrdered && isWhole, `the buckets of ${name}`);
  }
}

function require(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`metrics: ${what}`);
}
