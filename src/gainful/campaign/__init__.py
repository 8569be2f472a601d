"""Campaigns: what to measure next, asked and told over time, and the journal from which one is resumed."""

from gainful.campaign.best import Best
from gainful.campaign.campaign import Campaign
from gainful.campaign.history import History
from gainful.campaign.journal import FileJournal, Journal, MemoryJournal
from gainful.campaign.state import Entry, Status
from gainful.campaign.stopping import Ending, GoodEnough, Rule, TooLittleToLearn
from gainful.campaign.trust import TrustRegion
from gainful.campaign.why import Offer, Why

__all__ = [
    "Best",
    "Campaign",
    "Ending",
    "Entry",
    "FileJournal",
    "GoodEnough",
    "History",
    "Journal",
    "MemoryJournal",
    "Offer",
    "Rule",
    "Status",
    "TooLittleToLearn",
    "TrustRegion",
    "Why",
]
