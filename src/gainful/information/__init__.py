"""Bits: what an answer tells about the function, a region or a model; alone, jointly, beyond what is pending."""

from gainful.information.about import Region
from gainful.information.joint import Estimate
from gainful.information.mixture_joint import information_estimate, joint_estimate, joint_information
from gainful.information.mutual import information

__all__ = ["Estimate", "Region", "information", "information_estimate", "joint_estimate", "joint_information"]
