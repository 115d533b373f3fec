//! The smallest agent on the official Rust server SDK: every message becomes a task that works, has one artifact, and
//! completes. Prints one line of JSON, `{"url": …}`, once it listens.

use std::sync::Arc;

use a2a_server::handler::DefaultRequestHandler;
use a2a_server::{AgentExecutor, ExecutorContext, InMemoryTaskStore};
use a2a_types::*;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

struct Echo;

fn status(context: &ExecutorContext, state: TaskState) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: TaskStatus {
            state,
            message: None,
            timestamp: None,
        },
        metadata: None,
    })
}

#[async_trait::async_trait]
impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let task = Task {
            id: context.task_id.clone(),
            context_id: context.context_id.clone(),
            status: TaskStatus {
                state: TaskState::Submitted,
                message: None,
                timestamp: None,
            },
            artifacts: None,
            history: context.message.clone().map(|message| vec![message]),
            metadata: None,
        };
        let artifact = StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: context.task_id.clone(),
            context_id: context.context_id.clone(),
            artifact: Artifact {
                artifact_id: "answer".into(),
                name: None,
                description: None,
                parts: vec![Part::text("the same to you")],
                metadata: None,
                extensions: None,
            },
            append: None,
            last_chunk: Some(true),
            metadata: None,
        });
        let events = [
            StreamResponse::Task(task),
            status(&context, TaskState::Working),
            artifact,
            status(&context, TaskState::Completed),
        ];
        stream::iter(events.map(Ok)).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::iter([Ok(status(&context, TaskState::Canceled))]).boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let handler = Arc::new(DefaultRequestHandler::new(Echo, InMemoryTaskStore::new()).with_capabilities(
        AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(false),
            extended_agent_card: Some(false),
            extensions: None,
        },
    ));
    println!("{{\"url\": \"{url}\"}}");
    let router = a2a_server::jsonrpc::jsonrpc_router(handler);
    axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    }), router)
    .await?;
    Ok(())
}
