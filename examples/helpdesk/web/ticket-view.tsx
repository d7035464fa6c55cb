import { useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { useReducer, useTable } from 'reducerdb/react';
import { Composer } from './composer.tsx';
import { reducers, tables } from './module_bindings/index.ts';
import type { Message, Profile, Ticket } from './module_bindings/types.ts';
import { useAttempt } from './notices.tsx';
import { hrefOf } from './route.ts';
import { StatusChip } from './status-chip.tsx';
import { Time } from './time.tsx';

/** One ticket, and what was said in it. */
export function TicketView({ id, me }: { id: bigint; me: Profile }) {
  const [[ticket], isReady] = useTable(tables.ticket.where((each) => each.id.eq(id)));
  const [messages] = useTable(tables.message.where((each) => each.ticket.eq(id)));
  const sorted = useMemo(() => messages.toSorted((a, b) => (a.id < b.id ? -1 : 1)), [messages]);
  if (ticket === undefined) {
    // Whether it is missing or not for these eyes: the page knows no more than its reader.
    return isReady ? (
      <p className="empty">
        There is no ticket #{String(id)}. <a href={hrefOf({ kind: 'none' })}>All tickets</a>
      </p>
    ) : null;
  }
  return (
    <article className="ticket" aria-labelledby="subject">
      <Head ticket={ticket} me={me} />
      <Messages messages={sorted} me={me} />
      {ticket.closesAt !== undefined && (
        <p className="closes">
          Closes <Time at={ticket.closesAt} isAhead /> if nobody writes.
        </p>
      )}
      <Composer ticket={ticket} me={me} />
    </article>
  );
}

function Head({ ticket, me }: { ticket: Ticket; me: Profile }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Who came here by the keyboard goes on reading here.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className="head">
      <a className="back" href={hrefOf({ kind: 'none' })} aria-label="All tickets">
        ←
      </a>
      <div>
        <h2 id="subject" ref={heading} tabIndex={-1}>
          {ticket.subject}
        </h2>
        <p className="detail">
          {me.isAgent && <span>{ticket.from}</span>}
          <span>#{String(ticket.id)}</span>
          <StatusChip status={ticket.status} />
        </p>
      </div>
      <Actions ticket={ticket} me={me} />
    </header>
  );
}

function Actions({ ticket, me }: { ticket: Ticket; me: Profile }) {
  const takeTicket = useReducer(reducers.takeTicket);
  const releaseTicket = useReducer(reducers.releaseTicket);
  const closeTicket = useReducer(reducers.closeTicket);
  const attempt = useAttempt();
  const args = { ticket: ticket.id };
  const isMine = ticket.assignee?.equals(me.identity) ?? false;
  // Each of them is shown at once, and taken back if the database refuses it.
  const assign = (assignee: Ticket['assignee']) => ({
    optimistic: ({ ticket: rows }: Draft) => rows.update({ ...ticket, assignee }),
  });
  const closed = { ...ticket, status: { tag: 'Closed' }, closesAt: undefined } as const;
  const close = { optimistic: ({ ticket: rows }: Draft) => rows.update(closed) };
  return (
    <div className="actions">
      {me.isAgent && !isMine && (
        <button
          type="button"
          className="plain"
          onClick={() => attempt(takeTicket(args, assign(me.identity)))}
        >
          Take
        </button>
      )}
      {isMine && (
        <button
          type="button"
          className="plain"
          onClick={() => attempt(releaseTicket(args, assign(undefined)))}
        >
          Release
        </button>
      )}
      {ticket.status.tag !== 'Closed' && (
        <button type="button" className="plain" onClick={() => attempt(closeTicket(args, close))}>
          Close
        </button>
      )}
    </div>
  );
}

/** The part of a draft that is used here. */
interface Draft {
  readonly ticket: { update(row: Ticket): void };
}

function Messages({ messages, me }: { messages: readonly Message[]; me: Profile }) {
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  const last = messages.at(-1)?.id;
  useLayoutEffect(() => {
    // A reader who has scrolled up stays where they are.
    if (last !== undefined && isAtEnd.current) list.current?.scrollTo(0, list.current.scrollHeight);
  }, [last]);
  return (
    <ol
      ref={list}
      className="messages"
      role="log"
      aria-label="Messages"
      // Scrollable by the keyboard.
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
      }}
    >
      {messages.map((message) => (
        <Line key={String(message.id)} message={message} me={me} />
      ))}
    </ol>
  );
}

function Line({ message, me }: { message: Message; me: Profile }) {
  const { author, internal, name, text, sent } = message;
  const ourSide = me.isAgent ? 'Agent' : 'Customer';
  const classes = [
    'line',
    author.tag === 'Helpdesk' && 'event',
    author.tag === ourSide && 'ours',
    internal && 'note',
    isPending(message) && 'pending',
  ];
  return (
    <li className={classes.filter(Boolean).join(' ')}>
      {author.tag !== 'Helpdesk' && (
        <p className="detail">
          <b>{name}</b> {internal && <span className="chip">note for the team</span>}{' '}
          <Time at={sent} />
        </p>
      )}
      <p className="text">{text}</p>
    </li>
  );
}

/** Rows that the client expects have numbers of their own, beyond all that the database gives. */
function isPending({ id }: Message): boolean {
  return id >= 1n << 63n;
}
