import { type KeyboardEvent, useState } from 'react';
import { Timestamp } from 'reducerdb/client';
import { useReducer } from 'reducerdb/react';
import { reducers } from './module_bindings/index.ts';
import type { Message, Profile, Ticket } from './module_bindings/types.ts';
import { useAttempt } from './notices.tsx';

/** Where one writes. A message is shown at once, and taken back if the database refuses it. */
export function Composer({ ticket, me }: { ticket: Ticket; me: Profile }) {
  const [text, setText] = useState('');
  const [internal, setInternal] = useState(false);
  const reply = useReducer(reducers.reply);
  const attempt = useAttempt();
  const isCustomer = ticket.customer.equals(me.identity);
  const send = async () => {
    const given = { ticket: ticket.id, text, internal };
    const call = reply(given, {
      optimistic: (draft, args) => {
        if (args.text.trim() === '') return;
        draft.message.insert({
          id: draft.tempId(),
          ticket: ticket.id,
          team: ticket.team,
          customer: ticket.customer,
          author: { tag: isCustomer && !internal ? 'Customer' : 'Agent' },
          name: me.name === '' ? 'You' : me.name,
          text: args.text.trim(),
          internal,
          sent: Timestamp.now(),
        } satisfies Message);
      },
    });
    setText('');
    // What was refused is there to be written better.
    if (!(await attempt(call))) setText((now) => (now === '' ? text : now));
  };
  const sendOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className={internal ? 'composer note' : 'composer'}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        rows={2}
        aria-label={internal ? 'Note for the team' : 'Message'}
        placeholder={placeholder(ticket, internal)}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={sendOnEnter}
      />
      <div>
        {me.isAgent && (
          <label>
            <input
              type="checkbox"
              checked={internal}
              onChange={({ target }) => setInternal(target.checked)}
            />
            Only for the team
          </label>
        )}
        <span className="hint">Enter sends, Shift+Enter begins a line</span>
        <button type="submit">Send</button>
      </div>
    </form>
  );
}

function placeholder({ status }: Ticket, internal: boolean): string {
  if (internal) return 'A note that the customer does not see';
  return status.tag === 'Closed' ? 'Write to open this ticket again' : 'Write a message';
}
