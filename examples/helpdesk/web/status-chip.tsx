import type { Status } from './module_bindings/types.ts';

const words = { Open: 'waiting for us', Answered: 'answered', Closed: 'closed' } as const;

export function StatusChip({ status }: { status: Status }) {
  return <span className={`chip ${status.tag.toLowerCase()}`}>{words[status.tag]}</span>;
}
