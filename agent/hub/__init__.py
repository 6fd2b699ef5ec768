"""The conversation with the hub: who this agent is, and the sync that goes on for ever."""
