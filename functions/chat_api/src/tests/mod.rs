//! The whole function, in-process, with a real host agent on a loopback port behind it.

mod admin;
mod brand;
mod chats;
mod chatting;
mod connections;
mod drafts;
mod edits;
mod feedback;
mod files;
mod guests;
mod models;
mod news;
mod ops;
mod ops_keys;
mod ops_tasks;
mod pages;
mod push;
mod quotas;
mod rubbish;
mod sessions;
mod share;
mod tasks;
mod world;
