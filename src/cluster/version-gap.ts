/**
 * Why a host of this version cannot be in a cluster with others; `undefined`: it can. A version
 * reads everything that the one before wrote, and nothing older: the next minor version of the same
 * major version is the farthest that two hosts may be apart. What is no such version is let be.
 */
export function versionGap(
  own: string,
  others: readonly { readonly name: string; readonly version: string }[],
): string | undefined {
  const mine = minorOf(own);
  if (mine === undefined) return undefined;
  for (const { name, version } of others) {
    const theirs = minorOf(version);
    if (theirs === undefined) continue;
    const isNear = theirs.major === mine.major && Math.abs(theirs.minor - mine.minor) <= 1;
    if (isNear) continue;
    const isOlder = isBefore(mine, theirs);
    const step = isOlder
      ? 'Start a newer version here'
      : 'Update the hosts of the cluster one minor version after the other';
    return (
      `This host is of version ${own}, and host ${name} of this cluster is of version ` +
      `${version}: a cluster runs on one minor version and the next. ${step}. A host that will ` +
      `not come back is taken off with \`reducerdb cluster forget ${name}\`.`
    );
  }
  return undefined;
}

interface Minor {
  readonly major: number;
  readonly minor: number;
}

function minorOf(version: string): Minor | undefined {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})\./.exec(version) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  return { major: Number(major), minor: Number(minor) };
}

function isBefore(one: Minor, other: Minor): boolean {
  return one.major < other.major || (one.major === other.major && one.minor < other.minor);
}
