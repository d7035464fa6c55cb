import type { InputRequest } from '../../src/mcp-protocol/input-required.ts';

/** What a client's user fills in: one field of each kind, with what stands in it at first. */
export const formWithDefaults = elicitation('Please review and update the form fields', {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
});

const options = ['option1', 'option2', 'option3'];

/** One of some, and some of some, in all the ways in which a schema may say so. */
export const formWithChoices = elicitation('Please choose', {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled('First Option', 'Second Option', 'Third Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: {
    type: 'array',
    items: { anyOf: titled('First Choice', 'Second Choice', 'Third Choice') },
  },
});

export function formOfUser(message: string): InputRequest {
  return elicitation(message, {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  });
}

/** A form with this one field. */
export function formOf(message: string, field: string, type = 'string'): InputRequest {
  return elicitation(message, { [field]: { type } });
}

/** All fields are wanted. */
function elicitation(message: string, properties: object): InputRequest {
  const required = Object.keys(properties);
  const requestedSchema = { type: 'object', properties, required };
  return { method: 'elicitation/create', params: { message, requestedSchema } };
}

function titled(...titles: readonly string[]) {
  return titles.map((title, at) => ({ const: `value${at + 1}`, title }));
}
