import { useMemo, useState } from 'react';
import { useTable } from 'reducerdb/react';
import { tables } from './module_bindings/index.ts';
import type { Profile, Ticket } from './module_bindings/types.ts';
import { hrefOf } from './route.ts';
import { StatusChip } from './status-chip.tsx';
import { Time } from './time.tsx';

interface Props {
  readonly me: Profile;
  /** The ticket that is shown beside the list. */
  readonly shown: bigint | undefined;
}

export function TicketList({ me, shown }: Props) {
  return (
    <nav className="list" aria-label="Tickets">
      {me.isAgent ? <AgentsList shown={shown} /> : <CustomersList shown={shown} />}
    </nav>
  );
}

function CustomersList({ shown }: Pick<Props, 'shown'>) {
  const [tickets, isReady] = useTable(tables.ticket);
  const sorted = useMemo(() => tickets.toSorted(latestFirst), [tickets]);
  return (
    <>
      <a className="button" href={hrefOf({ kind: 'new' })}>
        New question
      </a>
      {isReady && sorted.length === 0 && <p className="empty">You have not asked anything yet.</p>}
      <ul>
        {sorted.map((ticket) => (
          <Entry key={String(ticket.id)} ticket={ticket} isShown={ticket.id === shown} />
        ))}
      </ul>
    </>
  );
}

const places = ['Queue', 'Answered', 'Closed'] as const;
type Place = (typeof places)[number];

function AgentsList({ shown }: Pick<Props, 'shown'>) {
  const [place, setPlace] = useState<Place>('Queue');
  return (
    <>
      <fieldset className="places">
        <legend>Which tickets</legend>
        {places.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="place"
              checked={each === place}
              onChange={() => setPlace(each)}
            />
            {each}
            {each === 'Queue' && <QueueLength />}
          </label>
        ))}
      </fieldset>
      {place === 'Queue' ? <Queue shown={shown} /> : <Past place={place} shown={shown} />}
      <Digests />
    </>
  );
}

function QueueLength() {
  const [queue] = useTable(tables.queue);
  return queue.length > 0 ? <span className="count">{queue.length}</span> : null;
}

/** What waits for an answer, longest first. */
function Queue({ shown }: Pick<Props, 'shown'>) {
  const [queue, isReady] = useTable(tables.queue);
  const sorted = useMemo(() => queue.toSorted((a, b) => compare(a.since, b.since)), [queue]);
  if (isReady && sorted.length === 0) return <p className="empty">Nobody is waiting.</p>;
  return (
    <ul>
      {sorted.map(({ ticket, subject, from, since, assignee }) => (
        <li key={String(ticket)}>
          <a
            href={hrefOf({ kind: 'ticket', id: ticket })}
            aria-current={ticket === shown ? 'page' : undefined}
          >
            <span className="subject">{subject}</span>
            <span className="detail">
              {from}, <Time at={since} />
            </span>
            {assignee !== undefined && <span className="chip">{assignee}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Past({ place, shown }: { place: Exclude<Place, 'Queue'> } & Pick<Props, 'shown'>) {
  const [tickets, isReady] = useTable(tables.ticket);
  const sorted = useMemo(
    () => tickets.filter(({ status }) => status.tag === place).toSorted(latestFirst),
    [tickets, place],
  );
  if (isReady && sorted.length === 0) return <p className="empty">There is none.</p>;
  return (
    <ul>
      {sorted.map((ticket) => (
        <Entry key={String(ticket.id)} ticket={ticket} isShown={ticket.id === shown} withFrom />
      ))}
    </ul>
  );
}

interface EntryProps {
  readonly ticket: Ticket;
  readonly isShown: boolean;
  readonly withFrom?: boolean;
}

function Entry({ ticket, isShown, withFrom = false }: EntryProps) {
  return (
    <li>
      <a
        href={hrefOf({ kind: 'ticket', id: ticket.id })}
        aria-current={isShown ? 'page' : undefined}
      >
        <span className="subject">{ticket.subject}</span>
        <span className="detail">
          {withFrom && `${ticket.from}, `}
          <Time at={ticket.since} />
        </span>
        {!withFrom && <StatusChip status={ticket.status} />}
      </a>
    </li>
  );
}

/** The last digest, and whether it has arrived. */
function Digests() {
  const [digests] = useTable(tables.digests);
  const last = digests.toSorted((a, b) => compare(b.day, a.day))[0];
  if (last === undefined) return null;
  const { day, open, answered, closed, sent } = last;
  return (
    <p className="digest">
      Digest of {day.toDate().toLocaleDateString()}: {open} open, {answered} answered, {closed}{' '}
      closed. {sent === undefined ? 'Not delivered yet.' : 'Delivered.'}
    </p>
  );
}

interface Moment {
  readonly microsSinceUnixEpoch: bigint;
}

function compare(a: Moment, b: Moment): number {
  return a.microsSinceUnixEpoch < b.microsSinceUnixEpoch ? -1 : 1;
}

function latestFirst(a: Ticket, b: Ticket): number {
  return compare(b.since, a.since);
}
