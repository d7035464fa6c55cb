import type { LogPoint } from '../../backup/manifest.ts';
import type { RestorePlan } from '../../backup/restore-plan.ts';
import type { RepositorySettings } from './backup-messages.ts';
import type { RestoreOrder } from './restore-order.ts';
import { positionText } from './shown-repository.ts';

/** A plan as it is shown, as JSON. */
export function shownPlan(
  { to }: RestoreOrder,
  plan: RestorePlan,
): Readonly<Record<string, unknown>> {
  const { source, from, to: end, identity, bytes, storedBytes, program, target } = plan;
  const { fault, passedOver } = plan;
  return {
    source: source.kind === 'backup' ? { backup: source.id } : { archive: source.name },
    source_time: source.timeMicros,
    of: identity,
    from: shownPlace(from),
    to: shownPlace(end),
    at: target,
    bytes,
    stored_bytes: storedBytes,
    program,
    fault: fault === '' ? null : fault,
    passed_over: passedOver.map(({ id, fault: why }) => ({ backup: id, fault: why })),
    replaces: to.kind === 'inPlace',
  };
}

/** A time is absent before the first commit. */
export function shownPlace(point: LogPoint) {
  const time = point.micros === 0 ? null : point.micros;
  return { position: positionText(point), time };
}

/** What is restored, in the audit log. */
export function sourceText({ name }: RepositorySettings, { source }: RestorePlan): string {
  return `${name}: ${source.kind === 'backup' ? `backup ${source.id}` : source.name}`;
}
